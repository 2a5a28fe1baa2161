"""Messages of fitted motions, made from a table of their fields by `protobuf`."""

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE = "dm_control.locomotion.mocap"

# Fields in the order of their numbers; "*" marks repeated ones.
_MESSAGES = {
    "Marker": "name:string parent:string position*:double quaternion*:double",
    "Markers": "marker*:Marker",
    "SubtreeScaling": "body_name:string parent_length:double size_factor:double",
    "WalkerScaling": "subtree*:SubtreeScaling",
    "Walker": "name:string model:Walker.Model scaling:WalkerScaling markers:Markers mass:double"
    " end_effector_names*:string appendage_names*:string",
    "Prop": "name:string shape:Prop.Shape size*:double mass:double",
    "WalkerPose": "position*:double quaternion*:double joints*:double center_of_mass*:double"
    " end_effectors*:double velocity*:double angular_velocity*:double joints_velocity*:double"
    " appendages*:double body_positions*:double body_quaternions*:double",
    "PropPose": "position*:double quaternion*:double velocity*:double angular_velocity*:double",
    "TimestepData": "walkers*:WalkerPose props*:PropPose",
    "FittedTrajectory": "identifier:string year:int32 month:int32 day:int32 dt:double"
    " walkers*:Walker props*:Prop timesteps*:TimestepData",
}
_ENUMS = {
    ("Walker", "Model"): {
        **{"UNSPECIFIED": 0, "CMU_2019": 1, "RESERVED_MODEL_ID_2": 2, "RESERVED_MODEL_ID_3": 3},
        **{"CMU_2020": 4, "RESERVED_MODEL_ID_5": 5, "RESERVED_MODEL_ID_6": 6},
    },
    ("Prop", "Shape"): {"UNSPECIFIED": 0, "SPHERE": 1, "BOX": 2},
}


def _file() -> descriptor_pb2.FileDescriptorProto:
    kinds = descriptor_pb2.FieldDescriptorProto
    scalars = {"string": kinds.TYPE_STRING, "double": kinds.TYPE_DOUBLE, "int32": kinds.TYPE_INT32}
    file = descriptor_pb2.FileDescriptorProto(name="mocap.proto", package=_PACKAGE, syntax="proto3")
    for message, fields in _MESSAGES.items():
        described = file.message_type.add(name=message)
        for number, field in enumerate(fields.split(), start=1):
            name, kind = field.split(":")
            added = described.field.add(name=name.rstrip("*"), number=number)
            added.label = kinds.LABEL_REPEATED if "*" in name else kinds.LABEL_OPTIONAL
            if kind in scalars:
                added.type = scalars[kind]
            else:
                added.type = kinds.TYPE_ENUM if "." in kind else kinds.TYPE_MESSAGE
                added.type_name = f".{_PACKAGE}.{kind}"
        for (owner, enum), values in _ENUMS.items():
            if owner == message:
                listed = described.enum_type.add(name=enum)
                for value, number in values.items():
                    listed.value.add(name=value, number=number)
    return file


_POOL = descriptor_pool.DescriptorPool()
DESCRIPTOR = _POOL.AddSerializedFile(_file().SerializeToString())


def _message(name: str) -> Any:
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"{_PACKAGE}.{name}"))


Marker, Markers, SubtreeScaling, WalkerScaling, Walker = (
    _message(name) for name in ("Marker", "Markers", "SubtreeScaling", "WalkerScaling", "Walker")
)
Prop, WalkerPose, PropPose, TimestepData, FittedTrajectory = (
    _message(name)
    for name in ("Prop", "WalkerPose", "PropPose", "TimestepData", "FittedTrajectory")
)
